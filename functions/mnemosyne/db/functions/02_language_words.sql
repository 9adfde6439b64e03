-- Words by which the language of a text is detected (see 02_languages.sql).

-- Return, for each language (ISO 639-1 code), its function words, such as "the", and letters that few languages have,
-- such as "ß". To detect the language of a text, language_of_words counts which of these words and letters occur in the
-- text.
--
-- A word in the column `sure` counts twice for its language. A word in the column `maybe` counts once, because it is
-- also used in other ways: as a word of another language (bin, plus), as a name or a part of a name (Kim, Los Angeles),
-- as an abbreviation (AI, EU) or as the name of a variable (x, y).
CREATE OR REPLACE FUNCTION language_evidence() RETURNS TABLE (language text, sure text, maybe text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    VALUES
    ('en', 'the of and with for from that this these those it its they them their there which what when where '
        'who whose why how have had does did not should would could can must your you our because about after '
        'before than then into every each any some more only also both between during until while been were '
        'are be here just very too still said get got like through without against since',
        'a an in is on at by or as if no so to do we he she us me my his her him was has will may all out up '
        'one other over under i d don ll m re s t ve'),
    ('de', 'das und ist nicht ein eine einen einem einer eines dem auf mit für zum zur bei nach aus wird werden '
        'wurde sind auch sich ich wir sie ihr ihre sein seine haben hatte kann muss darf soll wie wer wo wann '
        'warum welche welcher welches welchen welchem oder aber wenn weil dass nur noch über unter vor zwischen '
        'durch gegen ohne bis seit jeden jede vom kein keine als mein meine unser unsere mehr sehr viel viele '
        'oft etwas alle alles dann hier dort diese dieser dieses diesem wovor worüber wofür ihm ihn uns habe '
        'hatten bist waren möchte dich euch ihnen schon doch nichts jetzt wieder',
        'der den die was in so er an um zu man war hat da will du am bin im des es von mir mich dir lieber wohl '
        'gern hab immer ß ä ö ü'),
    ('nl', 'het een niet zijn wordt werd worden naar voor aan ook maar deze dit bij uit heeft hebben kan moet waar '
        'wanneer waarom welke geen nog meer onder tussen zonder hun haar onze mijn jij ik zij omdat hebt zal '
        'moeten kunnen wij jullie mij iets niets altijd nooit',
        'de die dat wie op is in te er om we hij of met was had me van over wel door tot ons als en hoe ze je '
        'jou hier toch veel heb bent zou'),
    ('sv', 'och att det inte är på som för av ett hon från eller hade har vid efter kan skulle vad vem när '
        'varför hur vilken mycket också utan över mellan sina deras våra vår jag ni',
        'en i med om de så då han var till men mot under sin den vi ska å ä ö'),
    ('da', 'og det ikke er på som af hun fra eller havde har ved efter kan skal skulle hvad hvem hvornår '
        'hvorfor hvordan hvilken meget også uden mellem deres vores jeg blev bliver nogen',
        'at den til han var men sin en i med om de så da for under over vi mod et å æ ø'),
    ('no', 'og det ikke er på som av hun fra eller hadde har ved etter kan skal skulle hva hvem når hvorfor '
        'hvordan hvilken mye også mot uten mellom deres våre jeg ble blir noen',
        'at den til han var men sin en i med om de så da for under over vi et å æ ø'),
    ('fr', 'une dans avec qui que quoi où quand pourquoi quel quelle quels quelles pas sont était être avoir ont '
        'nous vous ils elles leur leurs notre nos votre vos cette ces ses mais ou donc parce je chez combien '
        'peut fait depuis très même aussi après entre chaque tous toutes ce cet lui été suis vais toujours '
        'beaucoup alors avons avez peux veux dois doit faut aujourd cela ça',
        'les des pour par la de un a en on se sa son me mon ma il va l d n s c j qu le est plus sur sous sans '
        'comment avant et au aux du elle ne y tu moi toi as mes tes bien rien jamais fais deux trois oui hier '
        'demain ai es ici hui encore à é è ê ç œ û î'),
    ('es', 'una que por para qué quién cuándo dónde cómo cuál cuáles cuánto cuánta cuántos cuántas porque pero más '
        'puede está están fue ser tiene tienen hace desde hasta entre sobre muy también nuestro nuestra este '
        'estos estas ese cada nos todos todas unos unas después antes cuando donde según ellos ellas tengo '
        'tenemos estoy estamos somos eres puedo puedes quiero quieres aquí allí ahora siempre nunca así esto mí '
        'tú él sé',
        'el los las les con sin son la de un a no o y me te si mi como he has es en del al lo le ya su sus se '
        'hay esta esa ha han algo nada bien voy va muchos mucho mucha poco otra otro dos tu ella yo soy eso tus '
        '¿ ¡ ñ'),
    ('pt', 'que por para quem quando onde qual quais quanto porque mas mais está estão foi ser tem têm não há desde '
        'até entre sobre muito também meu meus minha minhas seu sua seus suas nosso nossa este isso essa cada ao '
        'aos nos pelo pela já todos todas ele ela você depois antes tenho temos estou estamos somos vou posso '
        'quero aqui sempre nunca eles elas nós isto esse',
        'o os a e com de do se me as no como da dos das em eu uma um na nas sem esta sou vai bem nada dois agora '
        'dele dela à é ã õ ç'),
    ('it', 'il gli una è che chi quando perché quale quali quanto quante quanti può più sono essere hanno della '
        'delle degli dello nel nella nei nelle alla alle agli dalla sul sulla sulle tra fra sua suo suoi nostro '
        'nostra questo questa questi ogni anche molto già tutti tutte viene dopo cui abbiamo siamo avete voglio '
        'posso sempre adesso niente nulla qualcosa',
        'la un in e i a si se o no me mi da con per come ha ci di ma era non del dei al ai lo le dal prima dove '
        'sue quanta l d c voi lui sto stai qui va bene à ò ù'),
    ('ca', 'els una és amb què qui quan quin quina perquè però més està són va ser té entre sobre molt també '
        'seu seva nostre aquest aquesta cada dels pels',
        'el la les de un en a com per ha no o l d i on al des fins sense hi'),
    ('ro', 'și este în cu ce cine când unde pentru sunt sau după până între fără foarte lui ei lor nostru '
        'acest această fiecare',
        'o a un de la care din era fi are mai dar să se pe nu au cum ă â î ș ț'),
    ('fi', 'ja ei että joka mikä mitä kuka missä milloin miksi miten kun mutta ovat oli olla ollut hän minä '
        'sinä tämä nämä sitä siitä kanssa ennen jälkeen myös kaikki hyvin',
        'on he me ne jos tai se sen ole vain te ä ö'),
    ('hu', 'és nem hogy egy mikor hol miért hogyan melyik vannak lesz kell csak vagy mert után előtt között '
        'nagyon minden',
        'a is mi ha meg van az ez ki de volt ő ű ö ü'),
    ('tr', 'bir bu şu için nerede neden nasıl hangi yok değil veya çok daha gibi kadar sonra önce olan '
        'olarak oldu kaç kimin benim bizim onun şimdi bana beni mı mü',
        've de da ne ama en her o mi kim var ile ş ğ ı ö ü ç'),
    ('pl', 'nie się że są był była być dla przez przed między bez bardzo także tylko każdy jego jej ich który '
        'która które kto kiedy gdzie dlaczego jak lub oraz ile czy mój moja moje jestem już też dokąd jaki jaka jakie',
        'i jest ale w we z ze o do to na po od co ł ą ę ś ż ź ć ń'),
    ('cs', 'je že není jsou byl byla být před mezi bez velmi také každý jeho její jejich který která které kdo '
        'kdy kde proč jak nebo',
        'a v z o do to ale na po od pro jen se ř ě ů č š ž'),
    ('id', 'itu dengan untuk pada adalah tidak akan ke oleh juga sudah karena atau siapa kapan mengapa '
        'bagaimana mereka kami kita saya anda',
        'dan yang di dari apa mana ini'),
    ('vi', 'và là của không có được với này đó những các một nào đâu ở đi đến từ tại lúc rồi cũng rất mỗi tôi gì '
        'nhưng hơn sẽ đã đang bị vào trên dưới trước phải nếu vì để thế nhiêu mấy hoặc về',
        'khi cho trong ai sao đ ơ ư ă ê ạ ả ấ ầ ẩ ẫ ậ ắ ằ ẳ ẵ ặ ẹ ẻ ẽ ế ề ể ễ ệ ỉ ị ọ ỏ ố ồ ổ ỗ ộ ớ ờ ở ỡ ợ ụ ủ ứ ừ ử ữ '
        'ự ỳ ỵ ỷ ỹ'),
    ('ru', 'и в не на что с по как это из у за от так но к он она они мы вы я его её их был была было были быть '
        'есть для или если когда где кто почему какой какая какие какое до после перед между без очень также '
        'только каждый каждого который которая которые чем о об же ли бы',
        'ы э ё'),
    ('bg', 'е са със това които която който ще към след беше тази във съм че няма само обаче кога къде защо кой',
        'и в не на за от'),
    ('uk', 'і та що як це але він вона вони ми ви я його її їх був була було були бути для або якщо коли де хто '
        'чому який яка які до після перед між без дуже також тільки',
        'є ї ґ на в не за'),
    ('ar', 'في من على إلى عن ما ماذا متى أين كيف لماذا كم أي هل التي الذي الذين هو هي هم هذا هذه ذلك تلك كان '
        'كانت لا لم لن أن إن كل بعد قبل بين مع عند قد ثم أو و لأن إذا',
        ''),
    ('hi', 'है हैं के में और का की को से पर यह वह कि था थी थे नहीं क्या कब कहाँ कहां कौन क्यों कैसे मैं हम मेरा मेरी मेरे हूँ '
        'हूं हो ने तो भी कितना कितने कितनी किस', ''),
    ('el', 'και το η ο οι τα την τον της του των στο στη στην με για από που είναι δεν θα να πότε ποιος γιατί '
        'πώς πού τι ένα μια',
        ''),
    ('he', 'של את על עם לא זה זו היא הוא הם מה מי מתי איפה למה איך כל גם או אבל אם כי יש אין', ''),
    ('ja', 'の は を が に で と も へ か よ ね や な ま す し た て い る れ さ せ っ ん だ う こ そ', ''),
    ('zh', '的 了 是 在 和 有 不 我 们 你 他 她 它 这 那 什 么 哪 吗 呢 吧 也 就 都 要 会 能 个 与 被 把 从 到 为 因 所 以 请 谁 怎 样 多 少 几', '');
END;

-- Return, for ten languages, frequent words that are not function words, such as verbs and words for times. Each of
-- these words that occurs in a text counts once for its language (see language_of_words). The words help to detect the
-- language of short texts, which have few function words. Unlike function words, they are not stop words.
CREATE OR REPLACE FUNCTION frequent_words() RETURNS TABLE (language text, words text)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    VALUES
    ('de', 'heute gestern morgen mag trinkt trinke wohnt wohne heißt kommt geht gehen gehe bruder schwester uhr '
        'arbeitet kaufen zwei montag dienstag mittwoch donnerstag freitag samstag sonntag'),
    ('nl', 'hou houdt woont woon heet gaan komt morgen gisteren vandaag broer zus moeder kinderen jaar uur thuis '
        'drinkt goed maandag dinsdag woensdag donderdag vrijdag zaterdag zondag'),
    ('fr', 'aime aimes préfère habite mange viens vient soir matin frère sœur enfants enfant travail '
        'lundi mardi mercredi jeudi vendredi samedi dimanche'),
    ('es', 'gusta gustan vivo vive prefiero prefiere ayer mañana hoy hijo hijos hermano hermana llamo años año trabajo '
        'fui comprar reunión visto lunes martes miércoles jueves viernes'),
    ('pt', 'gosto gosta moro mora prefiro prefere hoje ontem amanhã filhos filho irmão irmã mãe trabalho chamo chama'),
    ('it', 'piace piacciono vive vivo abito abita preferisco preferisce chiama chiamo vado figli figlio fratello '
        'sorella anni lavoro oggi ieri domani tre lunedì martedì mercoledì giovedì venerdì sabato domenica'),
    ('pl', 'mieszka mieszkam pracuje pracuję dzisiaj dziś jutro wczoraj godzinie dzień siostra poniedziałek wtorek środa '
        'środę czwartek piątek sobotę niedziela niedzielę'),
    ('cs', 'pracuje bydlí bydlím dnes zítra včera hodin sestra bratr pondělí úterý středa středu čtvrtek pátek sobotu neděle '
        'neděli'),
    ('tr', 'bugün yarın dün günü zaman gidiyor gidiyoruz annem babam kardeşim yaşıyor çalışıyor pazartesi '
        'salı çarşamba perşembe cuma cumartesi'),
    ('vi', 'tên ngày tháng giờ nhà uống ăn sống làm mẹ người muốn thích');
END;

"""`mnemosyne dev --embedder multilingual`: questions in one language find memories in others."""

from pathlib import Path

import pytest

from tests.dev import DevServer

pytestmark = pytest.mark.slow

MEMORIES = {
    "ja": "エイダはコーヒーより緑茶が好きです。",
    "ru": "Резервное копирование базы данных запускается каждую ночь в два часа.",
    "de": "Der Schlüssel zum Keller hängt neben der Haustür.",
    "ar": "تصل الشحنة إلى ميناء هامبورغ يوم الثلاثاء.",
}
QUESTIONS = {
    "ja": ["What does Ada like to drink?", "Was trinkt Ada am liebsten?"],
    "ru": ["When does the database backup run?", "¿Cuándo se hace la copia de seguridad de la base de datos?"],
    "de": ["Where is the key to the basement?", "Où est la clé de la cave ?", "地下室の鍵はどこですか。"],
    "ar": ["When does the shipment arrive at the port?", "Когда груз прибудет в порт?"],
}


def test_a_question_in_another_language_finds_a_memory_after_a_restart_with_the_same_embedder(tmp_path: Path) -> None:
    server = DevServer(tmp_path)
    server.arguments = ("--embedder", "multilingual")
    server.start()
    try:
        ids = {language: server.remember(content) for language, content in MEMORIES.items()}
        stats = server.call("memory_stats", {})
        assert (stats["embedding_model"], stats["embedding_dimension"]) == ("multilingual-e5-small-q4", 384)
        server.stop()
        server.arguments = ()
        server.start()
        for language, questions in QUESTIONS.items():
            for question in questions:
                result = server.call("memory_search", {"query": question})
                assert result["memories"][0]["id"] == ids[language], question
                assert "degraded" not in result
        server.stop()
        server.arguments = ("--embedder", "offline")
        with pytest.raises(AssertionError, match="were embedded by multilingual-e5-small-q4 at dimension 384, not by"):
            server.start()
    finally:
        server.close()
